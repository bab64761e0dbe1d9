// Answers like `confidant`, but on request only after the word `go` has arrived in another thread.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { handle as confide } from './confidant.ts'

let pendingResolves: (() => void)[] = []

export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const text = plainTextOf(message.parts)
  if (text === 'hold') await new Promise<void>(resolve => void pendingResolves.push(resolve))
  if (text === 'go') {
    for (const go of pendingResolves) go()
    pendingResolves = []
  }
  return confide(message, context)
}
