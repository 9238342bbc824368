{{/* Refuses values that belong together and do not fit, and options of the server that the chart's files would not follow. */}}
{{- define "tstriton.checks" -}}
{{- if and .Values.models.claimName .Values.models.volume -}}
{{- fail "models.claimName and models.volume both say where /models comes from, expected one of them" -}}
{{- end -}}
{{- $mounted := or .Values.models.claimName .Values.models.volume -}}
{{- if and (eq .Values.image.repository "tstriton") (has "/models" .Values.command) (not $mounted) -}}
{{- fail "there are no models to serve: set models.claimName or models.volume, or image.repository to an image that has models at /models" -}}
{{- end -}}
{{- if and .Values.service.headless (ne .Values.service.type "ClusterIP") -}}
{{- fail (printf "service.headless is for the type ClusterIP, got service.type %s: a headless Service has no address that a port of a node, or a load balancer, could lead to" .Values.service.type) -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "autoscaling.maxReplicas must be at least autoscaling.minReplicas, %d, got %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.accessToken.secretName (hasKey .Values.config "ACCESS_TOKEN") -}}
{{- fail "config.ACCESS_TOKEN and accessToken.secretName both set the access token, expected one of them" -}}
{{- end -}}
{{- $ports := "the chart's ports, probes and Service are 8000, 8001 and 8002" -}}
{{- $probes := "the probes ask at the address of the pod, over HTTP without TLS" -}}
{{- $service := "the Service offers gRPC without TLS, at the address of the pod" -}}
{{- $metrics := "autoscalers and monitors ask at the address of the pod" -}}
{{- $refused := dict
  "SHUTDOWN_DELAY_SECS" "set the value shutdownDelaySecs, which the time that a pod gets to end follows"
  "EXIT_TIMEOUT_SECS" "set the value exitTimeoutSecs, which the time that a pod gets to end follows"
  "HTTP_PORT" $ports
  "GRPC_PORT" $ports
  "METRICS_PORT" $ports
  "ALLOW_HTTP" $probes
  "HTTP_ADDRESS" $probes
  "HTTP_USE_SSL" $probes
  "HTTP_USE_SSL_MUTUAL" $probes
  "ALLOW_GRPC" $service
  "GRPC_ADDRESS" $service
  "GRPC_USE_SSL" $service
  "GRPC_USE_SSL_MUTUAL" $service
  "ALLOW_METRICS" $metrics
  "METRICS_ADDRESS" $metrics
-}}
{{- range $name, $why := $refused -}}
{{- $everywhere := list -}}
{{- $reason := $why -}}
{{- if hasSuffix "_ADDRESS" $name -}}
{{- $everywhere = list "::" "0.0.0.0" -}}
{{- $reason = printf "%s; expected %s" $why (join " or " $everywhere) -}}
{{- end -}}
{{- if and (hasKey $.Values.config $name) (not (has (get $.Values.config $name) $everywhere)) -}}
{{- fail (printf "config.%s does not fit the chart: %s" $name $reason) -}}
{{- end -}}
{{- range $.Values.env -}}
{{- $isNamed := or (eq .name (printf "TSTRITON_CONFIG_%s" $name)) (eq .name (printf "PYTRITON_TRITON_CONFIG_%s" $name)) -}}
{{- if and $isNamed (not (has (.value | default "") $everywhere)) -}}
{{- fail (printf "the variable %s of env does not fit the chart: %s" .name $reason) -}}
{{- end -}}
{{- end -}}
{{- $flag := printf "--%s" (lower $name | replace "_" "-") -}}
{{- range $at, $word := $.Values.command -}}
{{- $behind := slice $.Values.command (add1 $at | int) | first | default "" -}}
{{- $isFlag := eq (splitList "=" $word | first) $flag -}}
{{- $value := ternary (trimPrefix (printf "%s=" $flag) $word) $behind (contains "=" $word) -}}
{{- if and $isFlag (not (has $value $everywhere)) -}}
{{- fail (printf "%s in command does not fit the chart: %s" $flag $reason) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasKey .Values.config "MODEL_REPOSITORY" -}}
{{- fail "config.MODEL_REPOSITORY does not count beside the command: set command" -}}
{{- end -}}
{{- end -}}
