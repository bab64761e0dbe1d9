// Serves `POST /platforms/:name`, to which a platform sends its events.
import { peerAddress, problemStatusOf, readBody, toProblem } from '@postern/http'
import type { ChannelContext, Inbound } from '@postern/pipeline'
import { createIntakeSteps, hasRefusal, receive, recordRefusal } from '@postern/pipeline'
import { Hono } from 'hono'
import type { ResolvedRequest } from './resolve.ts'
import type { AnsweredRequest } from './verify.ts'

interface RouteDeps {
  /** The name of the platform, which is also the last segment of the path. */
  readonly name: string
  readonly inbound: Inbound<AnsweredRequest, ResolvedRequest>
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'system'>
}

/** The maximum number of bytes of one request. */
const maxBytes = 4 * 1024 * 1024

/** Creates the route. The platform gets the adapter's answer once all messages of the request are durable. */
export function createPlatformRoutes({ name, inbound, gateway }: RouteDeps): Hono {
  const { admission, store, system } = gateway
  const path = `/platforms/${name}`
  return new Hono().post(path, async ({ req: { raw, url }, env }) => {
    const refusal = { from: peerAddress(env), endpoint: `POST ${path}`, statusOf: problemStatusOf, request: raw }
    const deps = { store, system, ...refusal }
    let answer: Response | undefined
    try {
      const steps = createIntakeSteps(system)
      const body = await readBody(raw, maxBytes)
      const keepAnswer = (response: Response) => {
        answer = response
      }
      await receive(inbound, { url, headers: raw.headers, body, keepAnswer }, { ...deps, admission, steps })
      return answer ?? new Response(null, { status: 200 })
    } catch (error) {
      // A body that was never read completely did not reach `receive`, which records the other refusals.
      if (!hasRefusal(raw)) recordRefusal(error, name, deps)
      return toProblem(error, system.log)
    }
  })
}
