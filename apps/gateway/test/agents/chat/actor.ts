// Performs the act that a message asks for, and reports the outcome.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext, AgentPublisher } from '@postern/pipeline'

export async function handle(
  { parts }: Pick<NormalizedMessage, 'parts'>,
  context: AgentContext | AgentPublisher,
): Promise<string> {
  const { act, args } = JSON.parse(plainTextOf(parts)) as {
    readonly act: 'post' | 'edit' | 'delete' | 'react'
    readonly args: readonly never[]
  }
  const result = await (context[act] as (...args: readonly never[]) => unknown)(...args)
  return JSON.stringify(result) ?? 'done'
}
