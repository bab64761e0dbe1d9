// Records the run of a tool as a step of its turn.
import type { ToolCallPart } from '@postern/message'
import { failureCodeOf, findStepRecorder } from '@postern/pipeline'
import type { ToolOutcome } from './tools.ts'

/** Runs a tool as a step of the turn. Every step that the tool starts through the context of `run` becomes a child of that step. */
export async function recordToolRun<Context extends object>(
  { id, name }: Pick<ToolCallPart, 'id' | 'name'>,
  context: Context,
  run: (context: Context) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const step = findStepRecorder(context)?.begin({ kind: 'tool', name, id })
  if (!step) return run(context)
  try {
    const outcome = await run(step.within(context))
    step.end('error' in outcome ? { failureCode: 'failed' } : {})
    return outcome
  } catch (error) {
    step.end({ failureCode: failureCodeOf(error) })
    throw error
  }
}
