/** Of a response in a thread `t`: it was for some only, in a thread that others read and write, too. */
export function saidToSome(response: string): string {
  return `t.scope = 'public' AND json_extract(${response}.envelope, '$.visibility') IN ('followers', 'direct')`
}
