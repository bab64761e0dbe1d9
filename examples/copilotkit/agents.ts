import { HttpAgent } from '@ag-ui/client'

interface Gateway {
  /** Such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** Of the person who chats (`web.auth.tokens`, or a token of your issuer). */
  readonly token: string
}

/** Agents of the gateway as CopilotKit takes them, by their names. */
export function openAgents({ url, token }: Gateway, names: readonly string[]): Record<string, HttpAgent> {
  const headers = { authorization: `Bearer ${token}` }
  return Object.fromEntries(
    names.map(name => [name, new HttpAgent({ url: `${url}/api/v1/agents/${name}/runs`, headers })]),
  )
}
