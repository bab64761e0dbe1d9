// Performs an action of an agent for a command, and prints the ids of new posts.
import type { AgentAction } from '@postern/message'
import type { PostOptions } from '@postern/pipeline'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { actionOperation } from './route.ts'

interface TypedAction {
  readonly agent: string
  readonly text: string
}

interface TypedPost extends TypedAction, Pick<PostOptions, 'visibility' | 'subject'> {
  readonly mention?: string[]
}

interface TypedEdit extends TypedAction {
  readonly id: string
}

export const actionViews = {
  post: (output: ApiOutput, { agent, text, mention, ...options }: TypedPost) =>
    performAction(output, agent, { act: 'post', parts: toParts(text), ...options, mentions: mention }),
  edit: (output: ApiOutput, { agent, id, text }: TypedEdit) =>
    performAction(output, agent, { act: 'edit', response: id, parts: toParts(text) }),
  delete: (output: ApiOutput, { agent, id }: Omit<TypedEdit, 'text'>) =>
    performAction(output, agent, { act: 'delete', response: id }),
}

function toParts(text: string) {
  return [{ kind: 'text', mime: 'text/markdown', content: text } as const]
}

export function performAction(output: ApiOutput, agent: string, act: AgentAction): Promise<void> {
  return printAnswer(output, {
    operation: actionOperation,
    input: { parameters: { agent }, body: { acts: [act] } },
    format: ({ done }) => done.map(({ act: kind, id }) => `${kind}: ${id ?? 'done'}`).join('\n'),
  })
}
