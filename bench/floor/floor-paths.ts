// Where the HTTP floors answer which form. As long as the paths of the real server, so that both read equal requests.

export const FLOOR_JSON_PATH = '/v2/models/Identity/plain';
export const FLOOR_BINARY_PATH = '/v2/models/Identity/bytes';
