// Asks `/v2/health/ready` at fixed moments, whether or not earlier answers have come, and counts each latency from its
// moment: a server that stalls is not asked less for it. Meanwhile a model is made to spin, or nothing else happens.

import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { SPIN_MODEL, valueRequest } from '../callables-workload.js';
import { askHttp } from '../real-clients.js';
import { HttpResponseParser } from './http-response-parser.js';

void httpRequest;
void connect;
void askHttp;
void SPIN_MODEL;
void valueRequest;
void HttpResponseParser;
export type Lane = Socket;
