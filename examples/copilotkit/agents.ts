// Opens agents of the gateway for CopilotKit.
import { HttpAgent } from '@ag-ui/client'

interface Gateway {
  /** The address of the gateway, such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** The token of the person who chats (`web.auth.tokens`, or a token of your issuer). */
  readonly token: string
}

/** Returns agents of the gateway in CopilotKit's form, by their names. */
export function openAgents({ url, token }: Gateway, names: readonly string[]): Record<string, HttpAgent> {
  const headers = { authorization: `Bearer ${token}` }
  return Object.fromEntries(
    names.map(name => [name, new HttpAgent({ url: `${url}/api/v1/agents/${name}/runs`, headers })]),
  )
}
