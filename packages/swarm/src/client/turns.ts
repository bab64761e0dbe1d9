// Runs the turns of a client and checks their output by the policies.
import type { EmitBusEvent } from '../bus/bus.ts'
import type { TurnDeps, TurnRequest } from '../turn/run-turn.ts'
import { runSwarmTurn } from '../turn/run-turn.ts'
import type { SwarmBans, SwarmClientState } from './client-state.ts'

export interface ClientTurns {
  /** Runs one turn. Returns the answer, a refusal, or '' after a cancel. @throws the model's error */
  run(request: TurnRequest): Promise<string>
  /** Checks output by the policies, stores it and sends it. `answer` is the last agent's text, `rawResult` the whole output. */
  sendOutput(mode: string, answer: string, isStored?: boolean, rawResult?: string): Promise<string>
}

interface ClientTurnDeps {
  readonly turn: TurnDeps
  readonly state: SwarmClientState
  readonly bans: SwarmBans
  readonly emit: EmitBusEvent
}

export function createClientTurns({ turn, state, bans, emit }: ClientTurnDeps): ClientTurns {
  const { clientId, navigation, commits } = turn

  async function sendOutput(mode: string, answer: string, isStored = false, rawResult = answer): Promise<string> {
    const refusal = await bans.checkMessage('output', rawResult, clientId)
    const result = refusal ?? rawResult
    await commits.commitAssistantMessage(refusal ?? answer, { agentName: navigation.active, isStored })
    emit('agent-bus', 'emit-output', { input: { mode, rawResult }, output: { result } })
    return result
  }

  async function answerTurn(request: TurnRequest, answerAbort: AbortController): Promise<string> {
    const answer = await runSwarmTurn(turn, request, answerAbort.signal)
    if (answer === undefined || answerAbort.signal.aborted) return ''
    return await sendOutput(request.mode, answer, request.isStored, request.answerStream?.finish(answer))
  }

  async function run(request: TurnRequest): Promise<string> {
    const { message, mode } = request
    const refusal = (await bans.findRefusal(clientId)) ?? (await bans.checkMessage('input', message, clientId))
    if (refusal !== undefined) {
      emit('session-bus', 'notify', { input: { message: refusal } })
      return refusal
    }
    if (mode === 'user') await navigation.beginTurn()
    const answerAbort = new AbortController()
    const abortedAnswer = new Promise<string>(resolve =>
      answerAbort.signal.addEventListener('abort', () => resolve('')),
    )
    state.answerAbort = answerAbort
    emit('execution-bus', 'commit-execution-begin')
    try {
      const result = await Promise.race([answerTurn(request, answerAbort), abortedAnswer])
      emit('swarm-bus', 'wait-for-output', { output: { result } })
      emit('session-bus', 'execute', { input: { message, mode }, output: { result } })
      return result
    } finally {
      answerAbort.abort()
      state.answerAbort = undefined
      emit('execution-bus', 'commit-execution-end')
    }
  }

  return { run, sendOutput }
}
