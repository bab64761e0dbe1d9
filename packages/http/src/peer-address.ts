interface ServerEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } | undefined } | undefined
}

/** The network address a request came from, given the bindings of the Node server; `''` when there is none. */
export function peerAddress(env: unknown): string {
  const address = (env as ServerEnv | null | undefined)?.incoming?.socket?.remoteAddress ?? ''
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
