// Replays messages through the operator API.
import type { ReplayPage, ReplayReport } from '@postern/operator'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, operatorToken } from '../setup/gateway.ts'

interface ReplayAnswer<Json> {
  readonly status: number
  readonly json: Json & { readonly detail?: string }
}

/** Replays one message. */
export async function replayOne(
  gateway: Pick<TestGateway, 'url'>,
  id: string | number,
  body: object = {},
): Promise<ReplayAnswer<ReplayReport>> {
  return postJson(gateway, `/messages/${encodeURIComponent(typeof id === 'number' ? `#${id}` : id)}/replay`, body)
}

/** Replays all messages, page by page. */
export async function replayAll(gateway: TestGateway, body: object = {}): Promise<readonly ReplayReport[]> {
  await eventually(async () => {
    const messages = await gateway.messages()
    return messages.every(({ state }) => state !== 'received' && state !== 'working')
  })
  const reports: ReplayReport[] = []
  let cursor: number | undefined
  do {
    const { json } = await postJson<ReplayPage>(gateway, '/replay', {
      limit: 100,
      ...body,
      ...(cursor && { after: cursor }),
    })
    reports.push(...json.items)
    cursor = json.next ?? undefined
  } while (cursor !== undefined)
  return reports
}

export async function postJson<Json>(
  { url }: Pick<TestGateway, 'url'>,
  path: string,
  body: object,
): Promise<ReplayAnswer<Json>> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${url()}/operator/api${path}`, init)
  return { status: response.status, json: (await response.json()) as ReplayAnswer<Json>['json'] }
}
