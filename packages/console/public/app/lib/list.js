// Reads lists of the operator API, page by page.
import { api, withQuery } from './api.js'

/** Returns the rows of a list. @param {any} answer @param {string} name @returns {readonly any[] | undefined} */
export function readRows(answer, name) {
  return answer === undefined ? undefined : (answer.items ?? answer[name] ?? [])
}

const pageSize = 500

/**
 * Reads every row of a list, page by page.
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any>}
 */
export async function* readAll(path, query, signal = new AbortController().signal) {
  let after = /** @type {number | undefined} */ (undefined)
  for (;;) {
    const page = await api(withQuery(path, { ...query, limit: pageSize, after }), { signal })
    yield* page.items
    if (page.next === null) return
    after = page.next
  }
}

/**
 * Reads the relations of every agent. The gateway lists one agent's relations at a time, so each agent takes its own request.
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} signal
 */
export async function readRelations(path, query, signal) {
  const rows = []
  const { agents } = await api('/operator/api/agents', { signal })
  for (const { name } of agents)
    for await (const row of readAll(path, { ...query, agent: name }, signal)) rows.push(row)
  return rows
}
