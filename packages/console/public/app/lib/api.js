// Sends requests to the operator API, and turns its problem documents into errors.
import { session } from './session-state.js'

/** A refusal by the gateway. Its `message` says what was refused, why, and how to fix it. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status 0 when nothing answered */
  constructor(message, status) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

/**
 * @typedef {object} CallOptions
 * @property {'GET' | 'POST' | 'PUT' | 'DELETE'} [method]
 * @property {unknown} [body] sent as JSON
 * @property {AbortSignal} [signal]
 */

/**
 * Sends one request to the gateway and returns its JSON. If the session has ended, the sign-in is shown.
 * @param {string} path
 * @param {CallOptions} [options]
 * @returns {Promise<any>}
 * @throws {ApiError}
 */
export async function api(path, options = {}) {
  const answer = await send(path, options)
  const text = await answer.text()
  return text === '' ? undefined : JSON.parse(text)
}

/**
 * Sends one request like `api`, for an answer that is not JSON.
 * @param {string} path
 * @param {CallOptions} [options]
 * @returns {Promise<Response>}
 */
export async function send(path, { method = 'GET', body, signal } = {}) {
  const headers = { 'x-postern-console': '1', ...(body !== undefined && { 'content-type': 'application/json' }) }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }), ...(signal && { signal }) }
  const response = await fetch(path, init).catch(error => {
    if (signal?.aborted) throw error
    throw new ApiError('The gateway does not answer. Look whether it still runs, and at its log.', 0)
  })
  if (response.ok) return response
  if (response.status === 401) session.value = 'closed'
  throw new ApiError(await readProblem(response), response.status)
}

/** @param {Response} answer */
async function readProblem(answer) {
  const text = await answer.text().catch(() => '')
  try {
    const { detail, title } = JSON.parse(text)
    return detail ?? title ?? `The gateway answered ${answer.status}.`
  } catch {
    return `The gateway answered ${answer.status}.`
  }
}

/**
 * Appends a query to a path, without members that are undefined or empty.
 * @param {string} path
 * @param {Record<string, string | number | undefined>} query
 */
export function withQuery(path, query) {
  const setMembers = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return setMembers.length === 0
    ? path
    : `${path}?${new URLSearchParams(setMembers.map(([name, value]) => [name, String(value)]))}`
}
