import type { NormalizedMessage } from '@postern/message'
import type { AgentPublisher } from '@postern/pipeline'
import { handle as act } from './actor.ts'

let publisher: AgentPublisher | undefined

export function start(given: AgentPublisher): void {
  publisher = given
}

/** Performs the act that a message asks for, outside of its turn. */
export async function handle(message: NormalizedMessage): Promise<string> {
  return publisher ? act(message, publisher) : 'not begun'
}
