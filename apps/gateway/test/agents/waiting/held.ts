import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { AgentContext, NormalizedMessage } from '@postern/core'

const directory = process.env.HELD_DIRECTORY ?? ''

/**
 * Answers what it heard, but not while the file `held` names one of the words it heard; `begun` tells each run. For processes that are
 * killed meanwhile.
 */
export async function handle({ parts }: NormalizedMessage, { signal }: AgentContext): Promise<string> {
  const words = parts.map(part => (part.kind === 'text' ? part.content.trim() : part.kind)).join(' + ')
  appendFileSync(join(directory, 'begun'), `${words}\n`)
  const isHeld = () => readHeld().some(word => words.includes(word))
  while (isHeld()) await pause(10, undefined, { signal })
  return `heard ${words}`
}

function readHeld(): readonly string[] {
  const path = join(directory, 'held')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}
