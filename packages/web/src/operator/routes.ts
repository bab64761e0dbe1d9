import { parseBoundedJson, sseHeaders, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../deps.ts'
import { readAddressedAgent } from '../endpoint/agent-name.ts'
import { createOpenRuns } from '../endpoint/open-runs.ts'
import { acceptsStream, answerRepeated } from '../endpoint/run-answers.ts'
import { RunRepeated } from '../input/asked-run.ts'
import { loadRunInput } from '../input/load-run-input.ts'
import type { OperatorRun } from './asked-operator-run.ts'
import type { OperatorWaits } from './operator-run.ts'
import { startOperatorRun } from './operator-run.ts'
import { streamOperatorRun } from './stream-operator-run.ts'
import { createVerifyOperator } from './verify-operator.ts'

export interface OperatorRunDeps extends WebDeps, OperatorWaits {
  isOperatorToken(authorization: string): boolean
}

/** How long a run's id stays taken, ms. */
const rememberedMs = 24 * 3_600_000

/** Operators see what waits for them and decide it in AG-UI runs. */
export function createOperatorRunRoutes(deps: OperatorRunDeps): Hono {
  const { gateway, config, verifyOwner, isOperatorToken } = deps
  const verifyOperator = createVerifyOperator({ config, verifyOwner, origin: gateway.agents.origin, isOperatorToken })
  const open = createOpenRuns(config.limits.runs_per_owner)

  async function openRun(c: Context, operator: OperatorRun['operator'], leave: () => void): Promise<Response> {
    const named = c.req.param('agent')
    const agent = named === undefined ? undefined : readAddressedAgent(named, deps)
    const request = await deps.openBody(c.req.raw, config.limits.run_bytes)
    const document = parseBoundedJson(new Uint8Array(await request.arrayBuffer()), { what: 'run' })
    const { readRunInput } = await loadRunInput()
    const { input, warnings } = readRunInput(document)
    const key = `operator-run ${JSON.stringify([operator.owner, input.runId])}`
    if (!(await gateway.store.consumeOnce(key, gateway.platform.now() + rememberedMs))) throw new RunRepeated()
    const run = { operator, agent, input }
    const started = await startOperatorRun(run, deps)
    const told = { ...started, warnings: [...warnings, ...started.warnings] }
    return new Response(streamOperatorRun(run, told, deps, deps, leave), { headers: sseHeaders })
  }

  async function answerRun(c: Context): Promise<Response> {
    const operator = await verifyOperator(c.req.raw)
    if (!acceptsStream(c.req.header('accept'))) return new Response(null, { status: 406 })
    const leave = open.enter(operator.owner)
    try {
      return await openRun(c, operator, leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  const answer = async (c: Context) => {
    try {
      return await answerRun(c)
    } catch (error) {
      return error instanceof RunRepeated ? answerRepeated() : toProblem(error, gateway.platform.log)
    }
  }
  return new Hono().post('/api/v1/operator/runs', answer).post('/api/v1/operator/agents/:agent/runs', answer)
}
