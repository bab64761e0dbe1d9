/** Of a response `r` in a thread `t`: it was for some only, in a thread that others read and write, too. */
export const saidToSome = `t.scope = 'public' AND json_extract(r.envelope, '$.visibility') IN ('followers', 'direct')`
