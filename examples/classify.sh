#!/bin/sh
# The best three classes of a picture, over HTTP, as JSON:
#   vig serve -m model.safetensors &
#   ./classify.sh http://127.0.0.1:8080 picture.jpg
if [ $# -ne 2 ]; then
  echo "usage: $0 ADDRESS PICTURE" >&2
  exit 2
fi
exec curl --silent --show-error --fail-with-body --data-binary "@$2" \
  --header 'Content-Type: application/octet-stream' "$1/v1/classify?top=3"
