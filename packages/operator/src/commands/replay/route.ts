// Replays stored messages through today's code, in the operator's API.
import { Rejection } from '@postern/message'
import type { RunningAgent } from '@postern/pipeline'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { handleOperation, requireFound } from '../../api/operation.ts'
import { replayRange } from '../../replay/range.ts'
import { nameAgent } from '../../replay/read-again.ts'
import type { ReplayDeps, ReplayOptions } from '../../replay/replay.ts'
import { replayMessage } from '../../replay/replay.ts'
import { replayOperations } from './operations.ts'

/** An agent that answers only in a replay. */
export interface ReplayAgent {
  readonly running: RunningAgent
  close(): Promise<void>
}

export interface ReplayRouteDeps extends ReplayDeps {
  /** Opens a module that answers in place of the agent. @throws Rejection */
  openAgentFile(agent: string, file: string): Promise<ReplayAgent>
}

type ReplaySettings = Pick<OperationRequest<typeof replayOperations.one>['body'], 'use' | 'clock' | 'call'>

export function createReplayRoutes(deps: ReplayRouteDeps): readonly OperatorRoute[] {
  const { store } = deps.turn
  return [
    handleOperation(
      replayOperations.one,
      async ({ parameters, body: { commit, again: answersAgain, ...settings } }) => {
        if (answersAgain && !commit) throw new Rejection('malformed', 'Cannot replay: "again" needs "commit"')
        const message = await store.findMessage(parameters.id)
        const record = requireFound(message, 'Cannot replay: there is no message with this id')
        return withReplayAgent({ agent: nameAgent(record), ...settings }, deps, options =>
          replayMessage(record, { ...options, commits: commit, answersAgain }, deps),
        )
      },
    ),
    handleOperation(replayOperations.range, async ({ body: { use, clock, call, ...range } }) => {
      if (use !== undefined && range.agent === undefined) {
        throw new Rejection('malformed', 'Cannot replay: "use" answers for one agent; name it as "agent"')
      }
      return withReplayAgent({ agent: range.agent ?? '', use, clock, call }, deps, options =>
        replayRange(range, { ...options, commits: false }, deps),
      )
    }),
  ]
}

/** Opens the module that replaces the agent, if the settings name one, and closes it after the replay. */
async function withReplayAgent<Result>(
  { agent, use, clock, call }: ReplaySettings & { readonly agent: string },
  { openAgentFile }: Pick<ReplayRouteDeps, 'openAgentFile'>,
  run: (options: Omit<ReplayOptions, 'commits' | 'answersAgain'>) => Promise<Result>,
): Promise<Result> {
  const openedAgent = use === undefined ? undefined : await openAgentFile(agent, use)
  try {
    return await run({ clock, allowsCalls: call, replacementAgent: openedAgent?.running })
  } finally {
    await openedAgent?.close()
  }
}
