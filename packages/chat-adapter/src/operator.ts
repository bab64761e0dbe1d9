// Posts, edits and reacts for a bot through the operator API of the gateway.
import type { AgentAction } from '@postern/message'
import { leavesInClearText, parseJsonText } from '@postern/message'

/** The operator API of the gateway, which accepts the posts that a bot makes on its own initiative. */
export interface PosternOperator {
  /** The address of the gateway, such as `http://127.0.0.1:8787`. An address outside this machine needs https. */
  readonly url: string
  /** The operator token. */
  readonly token: string
}

/**
 * Performs an action as an agent (`POST /operator/api/agents/{agent}/acts`), and returns the id of a post.
 * @throws Error with the gateway's message
 */
export async function performForBot(
  { url, token }: PosternOperator,
  agent: string,
  action: AgentAction,
): Promise<string> {
  checkGatewayUrl(url)
  const response = await fetch(`${url}/operator/api/agents/${encodeURIComponent(agent)}/acts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ acts: [action] }),
  })
  const parsedResponse = parseResponse(await response.text())
  if (!response.ok) throw new Error(parsedResponse.detail ?? `The gateway answered ${response.status}`)
  return parsedResponse.done?.[0]?.id ?? ''
}

/**
 * Checks that the token leaves this machine only over https.
 * @throws Error
 */
function checkGatewayUrl(text: string): void {
  const url = new URL(text)
  if (!leavesInClearText(url)) return
  throw new Error(
    `Cannot send the operator token to ${url.origin} in clear text: use https, or a tunnel to this machine`,
  )
}

interface ActionsResponse {
  readonly detail?: string
  readonly done?: readonly { readonly id?: string }[]
}

/** Parses the body of a response, or returns an empty object for a body that is not JSON, such as a proxy's page. */
function parseResponse(text: string): ActionsResponse {
  try {
    return parseJsonText(text) as ActionsResponse
  } catch {
    return {}
  }
}
