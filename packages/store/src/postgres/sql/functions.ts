/** What `must_hold` raises: another gateway is in the way. */
export const interferenceCode = 'PST01'

/**
 * What the store's statements call and PostgreSQL does not have. JSON stays text: `json` and not `jsonb`, which knows neither NUL nor half a
 * surrogate pair; `readable_json` writes these as texts in columns have them (`values.ts`).
 */
export const storeFunctions: readonly string[] = [
  // Of the connection, as `formatShard` has set it.
  `CREATE OR REPLACE FUNCTION own_shard() RETURNS bigint LANGUAGE sql STABLE AS
     $$ SELECT coalesce(nullif(pg_catalog.current_setting('postern.shard', true), '')::bigint, 0) $$`,
  // Undoes the transaction; the gateway runs it again (`isInterference`).
  `CREATE OR REPLACE FUNCTION must_hold(is_so boolean) RETURNS boolean LANGUAGE plpgsql AS $$
   BEGIN
     IF is_so THEN RETURN true; END IF;
     RAISE EXCEPTION 'another gateway is in the way' USING ERRCODE = '${interferenceCode}';
   END $$`,
  `CREATE OR REPLACE FUNCTION ascii_lower(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT pg_catalog.lower(words COLLATE "C") $$`,
  `CREATE OR REPLACE FUNCTION readable_json(doc text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT (CASE WHEN doc ~ '\\\\u(0000|001a|d[89a-f])' THEN regexp_replace(replace(replace(doc, '\\u001a', '\\u001a1'),
       '\\u0000', '\\u001a0'), '\\\\ud[89a-f][0-9a-f]{2}', '\\ufffd', 'g') ELSE doc END)::json $$`,
  `CREATE OR REPLACE FUNCTION json_list(doc text, OUT value text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS
     $$ SELECT pg_catalog.json_array_elements_text(readable_json(doc)) $$`,
  `CREATE OR REPLACE FUNCTION json_extract(doc text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT readable_json(doc) #>> string_to_array(substr(path, 3), '.') $$`,
  // Member by member, so that the rest stays as it was written.
  `CREATE OR REPLACE FUNCTION json_without(doc json, path text[]) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
   BEGIN
     IF json_typeof(doc) IS DISTINCT FROM 'object' THEN RETURN doc; END IF;
     RETURN (SELECT '{' || coalesce(string_agg(to_json(m.key) || ':' || CASE WHEN m.key <> path[1] THEN m.value
         ELSE json_without(m.value, path[2:]) END, ',' ORDER BY m.place), '') || '}'
       FROM json_each(doc) WITH ORDINALITY AS m (key, value, place) WHERE m.key <> path[1] OR cardinality(path) > 1);
   END $$`,
  // What a member may hold and `json_each` may not read is hidden meanwhile.
  `CREATE OR REPLACE FUNCTION json_remove(doc text, VARIADIC paths text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
   DECLARE path text;
   BEGIN
     doc := regexp_replace(replace(replace(doc, '\\u001a', '\\u001a1'), '\\u0000', '\\u001a0'),
       '\\\\u(d[89a-f][0-9a-f]{2})', '\\\\u001a2\\1', 'g');
     FOREACH path IN ARRAY paths LOOP
       doc := json_without(doc::json, string_to_array(substr(path, 3), '.'))::text;
     END LOOP;
     RETURN replace(replace(regexp_replace(doc, '\\\\u001a2(d[89a-f][0-9a-f]{2})', '\\\\u\\1', 'g'),
       '\\u001a0', '\\u0000'), '\\u001a1', '\\u001a');
   END $$`,
  // To the end of a list, the only place the store adds to.
  `CREATE OR REPLACE FUNCTION json_insert(doc text, path text, item text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT CASE WHEN path <> '$[#]' THEN NULL WHEN json_array_length(doc::json) = 0 THEN '[' || to_json(item) || ']'
       ELSE pg_catalog.left(rtrim(doc), -1) || ',' || to_json(item) || ']' END $$`,
]
