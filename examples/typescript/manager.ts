// Asks two other agents in parallel and combines their answers.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentCallAnswer, AgentContext } from '@postern/pipeline'

const workers = ['typescript', 'python']

/** Notes its plan, calls the workers, and notes the combined answer in the transcript. */
export async function handle({ parts, recipient, phase_id = 0 }: NormalizedMessage, context: AgentContext) {
  const task = plainTextOf(parts)
  context.note({ type: 'strategic_plan', content: { phases: [{ goals: task, workers }] } })
  // The workers have the domain of this agent: `@manager@host` calls `@python@host`.
  const answers = await Promise.allSettled(
    workers.map(worker => context.call(recipient.replace(/^@[^@]+/, `@${worker}`), task, { broadcast: true })),
  )
  const combinedAnswers = answers.map((answer, index) => `${workers[index]}: ${wordsOf(answer)}`).join('\n\n')
  context.note({ type: 'synthesis', content: combinedAnswers, from_manager: 'manager', phase_id })
  return combinedAnswers
}

function wordsOf(answer: PromiseSettledResult<AgentCallAnswer>): string {
  return answer.status === 'fulfilled' ? plainTextOf(answer.value.parts) : 'was not to be reached'
}
