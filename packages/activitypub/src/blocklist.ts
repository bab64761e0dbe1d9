import { toAsciiDomain } from '@postern/core'

export type IsBlocked = (host: string) => boolean

/** A domain stands for itself and everything below it. */
export function createBlocklist(domains: readonly string[]): IsBlocked {
  const blocked = new Set(domains.map(toAsciiDomain))
  if (blocked.size === 0) return () => false
  return host => {
    for (let rest: string | undefined = host; rest; rest = parentOf(rest)) if (blocked.has(rest)) return true
    return false
  }
}

function parentOf(host: string): string | undefined {
  const dot = host.indexOf('.')
  return dot < 0 ? undefined : host.slice(dot + 1)
}
