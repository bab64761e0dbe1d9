// Calls an existing and a missing agent in one stage, and waits for a file in the next one.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle({ parts }: NormalizedMessage, context: AgentContext): Promise<string> {
  context.stage('search')
  context.note({ type: 'task', content: 'Ask both.' })
  await context.call('@hook@agents.test', 'Are you there?')
  await context.call('@nobody@agents.test', 'Are you there?').catch(() => undefined)
  context.stage('write')
  const path = plainTextOf(parts).trim()
  while (!existsSync(path)) await sleep(20)
  return 'One of them is there.'
}
