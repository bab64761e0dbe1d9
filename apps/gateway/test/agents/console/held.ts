import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Answers as soon as there is a file of the name that it was told. */
export async function handle({ parts }: NormalizedMessage): Promise<string> {
  const path = plainTextOf(parts).trim()
  while (!existsSync(path)) await sleep(20)
  return 'It is there.'
}
