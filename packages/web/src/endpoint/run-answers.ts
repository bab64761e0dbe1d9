/** Whether the client takes server-sent events. Wildcards and `application/json` count, too. */
export function acceptsStream(accept = ''): boolean {
  return accept === '' || /text\/event-stream|text\/\*|\*\/\*|application\/json/i.test(accept)
}

export function answerRepeated(): Response {
  const problem = {
    title: 'Conflict',
    status: 409,
    code: 'run_repeated',
    detail: 'Cannot run: this run was started already',
  }
  return new Response(JSON.stringify(problem), { status: 409, headers: { 'content-type': 'application/problem+json' } })
}
