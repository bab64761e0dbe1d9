// Records the request to a model in its turn.
import { failureCodeOf, findStepRecorder } from '@postern/pipeline'
import type { ModelEndpoint } from '../completion/completion.ts'
import type { Round } from './round.ts'

/** The maximum length of the server's finish reason, characters. */
const maxFinishChars = 64

/** Passes on a round as it arrives, and records it as a step of the turn. */
export async function* recordModelRequest(
  pieces: AsyncGenerator<string, Round, undefined>,
  { model, url }: Pick<ModelEndpoint, 'model' | 'url'>,
  context: object,
): AsyncGenerator<string, Round, undefined> {
  const step = findStepRecorder(context)?.begin({ kind: 'model', name: model, server: new URL(url).host })
  try {
    const round = yield* pieces
    step?.end({ usage: round.usage, finishReason: round.finishReason.slice(0, maxFinishChars) })
    return round
  } catch (error) {
    step?.end({ failureCode: failureCodeOf(error) })
    throw error
  }
}
