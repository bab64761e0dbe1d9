import type { AgentContext, AgentNote, NormalizedMessage, Part } from '@postern/core'

/** One thing to do: ask somebody, write something down, or fail. */
interface Step {
  readonly ask?: string
  readonly say?: string
  readonly broadcast?: boolean
  readonly phase?: number
  readonly context?: string
  readonly note?: AgentNote
  readonly fail?: string
}

/** Does what its text says, a JSON list of steps (a list in it: side by side), and answers with what it heard. Any other text it has done. */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const text = wordsOf(message.parts)
  if (!text.startsWith('[')) return `${message.recipient} has done: ${text}`
  const heard: string[] = []
  for (const step of JSON.parse(text) as readonly (Step | readonly Step[])[]) {
    const steps = Array.isArray(step) ? (step as readonly Step[]) : [step as Step]
    heard.push(...(await Promise.all(steps.map(each => take(each, context)))).filter(Boolean))
  }
  return heard.join('\n') || 'nothing'
}

async function take(step: Step, context: AgentContext): Promise<string> {
  const { ask, say = '', broadcast, phase: phaseId, context: contextId, note, fail } = step
  if (note) context.note(note)
  if (fail !== undefined) throw new Error(fail)
  if (ask === undefined) return ''
  try {
    const answer = await context.call(ask, say, { broadcast, phaseId, contextId })
    return `${answer.contextId} ${wordsOf(answer.parts)}`
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
}

function wordsOf(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
}
