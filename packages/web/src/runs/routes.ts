import type { IntakeSteps, RefusalPlace } from '@postern/core'
import { createIntakeSteps, hasRefusal, Rejection, recordRefusal } from '@postern/core'
import { parseBoundedJson, peerAddress, problemStatusOf, sseHeaders, toProblem } from '@postern/http'
import { noteCaller, readClaimedSubject } from '@postern/http/tokens'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../deps.ts'
import { readAddressedAgent } from '../endpoint/agent-name.ts'
import { answerOwner } from '../endpoint/answer-owner.ts'
import type { OpenRuns } from '../endpoint/open-runs.ts'
import { createOpenRuns } from '../endpoint/open-runs.ts'
import { acceptsStream, answerRepeated } from '../endpoint/run-answers.ts'
import { readThreads } from '../history/list-threads.ts'
import { readHistory } from '../history/read-history.ts'
import { proofOf } from '../identity/speaker.ts'
import type { AskedRun } from '../input/asked-run.ts'
import { RunRepeated } from '../input/asked-run.ts'
import { loadRunInput } from '../input/load-run-input.ts'
import { startRun } from './start-run.ts'
import { streamRun } from './stream-run.ts'

/** Starts and cancels runs, and serves history and threads (AG-UI 1.0). */
export function createRunRoutes(deps: WebDeps): Hono {
  const { gateway } = deps
  const open = createOpenRuns(deps.config.limits.runs_per_owner)
  const routes = new Hono()
  const answer = (handle: (c: Context) => Promise<Response>) => async (c: Context) => {
    try {
      return await handle(c)
    } catch (error) {
      return error instanceof RunRepeated ? answerRepeated() : toProblem(error, gateway.platform.log)
    }
  }
  const run = answer(c => answerRun(c, deps, open))
  const history = answerOwner(deps, (c, owner) => readHistory(c, owner, deps))
  const threads = answerOwner(deps, (c, owner) => readThreads(c, owner, deps))
  const cancel = answer(c => answerCancel(c, deps))
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.post(`${base}/runs`, run)
    routes.get(`${base}/threads`, threads)
    routes.get(`${base}/history`, history)
    routes.post(`${base}/runs/:run/cancel`, cancel)
  }
  return routes
}

/** What is not taken is kept for the operator's list. */
async function answerRun(c: Context, deps: WebDeps, open: OpenRuns): Promise<Response> {
  const steps = createIntakeSteps(deps.gateway.platform)
  try {
    return await takeRun(c, { deps, open, steps })
  } catch (error) {
    const place = placeOf(c, steps)
    if (!(error instanceof RunRepeated) && !hasRefusal(c.req.raw))
      recordRefusal(error, 'web', { ...deps.gateway, ...place })
    throw error
  }
}

interface RunTaking {
  readonly deps: WebDeps
  readonly open: OpenRuns
  readonly steps: IntakeSteps
}

async function takeRun(c: Context, { deps, open, steps }: RunTaking): Promise<Response> {
  const subject = readClaimedSubject(c.req.raw.headers)
  steps.claim({ agent: c.req.param('agent'), ...(subject !== undefined && { claimed_sender: subject }) })
  const since = steps.now()
  const owner = await deps.verifyOwner(c.req.raw)
  noteCaller(steps, since, { proof: proofOf(owner), usedKey: owner.usedKey })
  steps.claim({ claimed_sender: owner.address })
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  if (!acceptsStream(c.req.header('accept'))) return new Response(null, { status: 406 })
  // Counts the run before its body comes: many slow senders would fill the memory.
  const leave = open.enter(owner.owner)
  try {
    const request = await deps.openBody(c.req.raw, deps.config.limits.run_bytes)
    const document = parseBoundedJson(new Uint8Array(await request.arrayBuffer()), { what: 'run' })
    const { readRunInput } = await loadRunInput()
    const { input, warnings } = readRunInput(document)
    steps.claim({ agent, peer_id: input.runId })
    const asked: AskedRun = { owner, agent, input, document, steps, place: placeOf(c, steps) }
    const started = await startRun(asked, deps)
    const all = [...warnings, ...started.warnings]
    return new Response(streamRun(asked, { ...started, warnings: all }, deps, leave), { headers: sseHeaders })
  } catch (error) {
    leave()
    throw error
  }
}

function placeOf(c: Context, steps: IntakeSteps): RefusalPlace {
  const endpoint = 'POST /api/v1/agent/runs'
  return { from: peerAddress(c.env), endpoint, statusOf: problemStatusOf, request: c.req.raw, ...steps.claims() }
}

/** The run ends as cancelled. The gateway drops an answer that comes later. */
async function answerCancel(c: Context, { verifyOwner, gateway }: WebDeps): Promise<Response> {
  const { owner } = await verifyOwner(c.req.raw, 'cancel')
  const key = { owner, id: c.req.param('run') ?? '' }
  if (!(await gateway.store.findTask(key))) throw new Rejection('no_recipient', 'Cannot cancel: there is no such run')
  return c.json({ cancelled: await gateway.store.cancelTask(key) })
}
