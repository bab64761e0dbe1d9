// Recognizes hosts of this machine.

/** Returns true if only this machine can reach a socket that is bound to `host`. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
