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

/** The largest number of agents that are asked for one by one, which the gateway answers by an index. */
const maxAskedAgents = 50

/**
 * Reads the relations of every agent: one request for each of a few agents, or else all relations together.
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} signal
 */
export async function readRelations(path, query, signal) {
  const rows = []
  const page = await api(withQuery('/operator/api/agents', { limit: maxAskedAgents }), { signal })
  const agents = /** @type {readonly { name: string }[]} */ (page.items)
  const queries = page.next === null ? agents.map(({ name }) => ({ ...query, agent: name })) : [query]
  for (const each of queries) for await (const row of readAll(path, each, signal)) rows.push(row)
  return rows
}
