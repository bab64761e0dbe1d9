import type { ScopeTable } from '@postern/http/tokens'
import { defaultScopes } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'

export function readScopeTable({ auth }: Pick<A2aConfig, 'auth'>): ScopeTable {
  return { ...defaultScopes, ...auth.scopes }
}
