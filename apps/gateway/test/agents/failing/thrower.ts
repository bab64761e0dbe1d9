// Throws, like an agent with a programming error.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

export function handle({ parts }: NormalizedMessage): string {
  const [word] = plainTextOf(parts).trim().split(/\s/)
  if (word === 'fine') return 'fine'
  throw new TypeError(`there is no order "${word}"`)
}
