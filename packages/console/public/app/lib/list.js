import { api, withQuery } from './api.js'

/** The rows of a list. @param {any} answer @param {string} name @returns {readonly any[] | undefined} */
export function rowsOf(answer, name) {
  return answer === undefined ? undefined : (answer.items ?? answer[name] ?? [])
}

const pageSize = 500

/**
 * Every row of a list, page by page.
 * @param {string} path @param {Record<string, string>} query
 * @returns {AsyncGenerator<any>}
 */
export async function* readAll(path, query) {
  let after = /** @type {number | undefined} */ (undefined)
  for (;;) {
    const page = await api(withQuery(path, { ...query, limit: pageSize, after }))
    yield* page.items
    if (page.next === null) return
    after = page.next
  }
}
