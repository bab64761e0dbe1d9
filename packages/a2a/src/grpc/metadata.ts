import type { Metadata } from '@grpc/grpc-js'

/** The headers, as in the other bindings. */
export function readMetadata(metadata: Metadata): Headers {
  const headers = new Headers()
  for (const name of Object.keys(metadata.getMap())) {
    if (name.endsWith('-bin')) continue
    for (const value of metadata.get(name)) headers.append(name, value.toString())
  }
  return headers
}

/** `address:port`, also of IPv6 without brackets. */
export function readPeer(peer: string): string {
  return /^(.+):\d+$/.exec(peer)?.[1] ?? peer
}
