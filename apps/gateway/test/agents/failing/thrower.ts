import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

/** Throws, as an agent with an author's mistake does. */
export function handle({ parts }: NormalizedMessage): string {
  const [word] = plainTextOf(parts).trim().split(/\s/)
  if (word === 'fine') return 'fine'
  throw new TypeError(`there is no order "${word}"`)
}
