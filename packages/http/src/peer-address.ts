interface ServerEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } | undefined } | undefined
  /** As the program has found it behind its own proxies. */
  readonly clientAddress?: string | undefined
}

/** The network address a request came from, given the bindings of the Node server; `''` when there is none. */
export function peerAddress(env: unknown): string {
  const { clientAddress, incoming } = (env as ServerEnv | null | undefined) ?? {}
  return clientAddress ?? (incoming?.socket?.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
}
