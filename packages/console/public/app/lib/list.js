/** The rows of a list. @param {any} answer @param {string} name @returns {readonly any[] | undefined} */
export function rowsOf(answer, name) {
  return answer === undefined ? undefined : (answer.items ?? answer[name] ?? [])
}
