import { hash, randomBytes } from 'node:crypto'

/** Codes in links to the console. Each opens one session, in the process that made it. */
export interface SignInCodes {
  make(): string
  /** False for a code that is unknown or used. */
  use(code: string): boolean
}

/** More than these were never clicked; the oldest is forgotten. */
const maxCodes = 100

export function createSignInCodes(): SignInCodes {
  const open = new Set<string>()
  return {
    make() {
      const code = randomBytes(18).toString('base64url')
      const [oldest] = open
      if (open.size >= maxCodes && oldest !== undefined) open.delete(oldest)
      open.add(hash('sha256', code))
      return code
    },
    use: code => open.delete(hash('sha256', code)),
  }
}
