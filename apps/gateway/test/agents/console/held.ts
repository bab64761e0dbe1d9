// Answers once the file exists whose path the message contains.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

export async function handle({ parts }: NormalizedMessage): Promise<string> {
  const path = plainTextOf(parts).trim()
  while (!existsSync(path)) await sleep(20)
  return 'It is there.'
}
