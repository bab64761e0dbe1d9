import { hash } from 'node:crypto'
import type { Config } from '../config/schema.ts'

/** In dev mode the operator's token opens the chat, too, unless the file says who may chat. */
export function addChatToken(config: Config, operatorToken: string): Config {
  const { web, dev } = config
  const isOpen = web.auth.tokens.length > 0 || web.auth.issuers.length > 0
  if (!dev || !web.enabled || isOpen) return config
  const tokens = [{ name: 'operator', sha256: hash('sha256', operatorToken) }]
  return { ...config, web: { ...web, auth: { ...web.auth, tokens } } }
}
