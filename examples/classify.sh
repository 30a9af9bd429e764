#!/bin/sh
# The best three classes of an image, over HTTP, as JSON:
#   vig serve -m model.safetensors &
#   ./classify.sh http://127.0.0.1:8080 image.jpg
if [ $# -ne 2 ]; then
  echo "usage: $0 ADDRESS IMAGE" >&2
  exit 2
fi
exec curl --silent --show-error --fail-with-body --data-binary "@$2" \
  --header 'Content-Type: application/octet-stream' "$1/v1/classify?top=3"
