// Tells which requests leave this machine without encryption.

/** Returns true if others can read what is sent to a URL: it goes without encryption to a host other than this machine. */
export function leavesInClearText({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !/^(?:localhost|127\.[\d.]+|\[::1\])$/i.test(hostname)
}
