import { hash, randomBytes } from 'node:crypto'
import type { RecordStore } from '@postern/transcript'

export interface OperatorSessions {
  /** A new session, by the text of its cookie. */
  begin(): Promise<StartedSession>
  /** Whether this is the text of a session that has not ended. */
  isOpen(secret: string): Promise<boolean>
  end(secret: string): Promise<void>
}

interface StartedSession {
  readonly secret: string
  /** Seconds until it ends by itself. */
  readonly seconds: number
}

interface SessionDeps {
  readonly records: Pick<RecordStore, 'get' | 'insert' | 'remove'>
  /** The operator token: sessions of an earlier token are over. */
  readonly token: string
  readonly now: () => number
}

/** An ordinary working day. */
const sessionSeconds = 12 * 3_600

/**
 * Sessions of the console. The store has their digests, so that all gateways of one store know them and a copy of the database opens nothing.
 */
export function createOperatorSessions({ records, token, now }: SessionDeps): OperatorSessions {
  const nameOf = (secret: string) => ({
    kind: 'operator-session',
    owner: 'operator',
    key: hash('sha256', `${token}\n${secret}`),
  })
  return {
    async begin() {
      const secret = randomBytes(32).toString('base64url')
      const until = now() + sessionSeconds * 1_000
      await records.insert(nameOf(secret), { until }, { until })
      return { secret, seconds: sessionSeconds }
    },
    async isOpen(secret) {
      const found = await records.get(nameOf(secret))
      const { until = 0 } = (found?.value ?? {}) as { readonly until?: number }
      return until > now()
    },
    end: secret => records.remove(nameOf(secret)),
  }
}
