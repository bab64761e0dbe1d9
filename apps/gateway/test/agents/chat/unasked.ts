// Performs the act that a message asks for, but outside of its turn.
import type { NormalizedMessage } from '@postern/message'
import type { AgentPublisher } from '@postern/pipeline'
import { handle as act } from './actor.ts'

let publisher: AgentPublisher | undefined

export function start(givenPublisher: AgentPublisher): void {
  publisher = givenPublisher
}

export async function handle(message: NormalizedMessage): Promise<string> {
  return publisher ? act(message, publisher) : 'not begun'
}
