// Defines SQL functions that the store calls and PostgreSQL lacks.
/** The code that `must_hold` raises when another gateway interferes. */
export const interferenceCode = 'PST01'

/** Returns a PostgreSQL pattern for a JSON escape. Its first group matches the escaped backslashes before it. */
function formatEscapePattern(digits: string): string {
  return `(?<!\\\\)((?:\\\\\\\\)*)\\\\u${digits}`
}

/**
 * The functions that the store's statements call and PostgreSQL lacks. JSON is stored as text, because `jsonb` supports neither NUL nor half a surrogate
 * pair. `readable_json` converts these characters into the form of the text columns (`values.ts`).
 */
export const storeFunctions: readonly string[] = [
  // Returns the shard of the connection, which `formatShard` has set.
  `CREATE OR REPLACE FUNCTION own_shard() RETURNS bigint LANGUAGE sql STABLE AS
     $$ SELECT coalesce(nullif(pg_catalog.current_setting('postern.shard', true), '')::bigint, 0) $$`,
  // Rolls the transaction back. The gateway then runs the transaction again (`isInterference`).
  `CREATE OR REPLACE FUNCTION must_hold(is_so boolean) RETURNS boolean LANGUAGE plpgsql AS $$
   BEGIN
     IF is_so THEN RETURN true; END IF;
     RAISE EXCEPTION 'another gateway is in the way' USING ERRCODE = '${interferenceCode}';
   END $$`,
  `CREATE OR REPLACE FUNCTION ascii_lower(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT pg_catalog.lower(words COLLATE "C") $$`,
  // An escape follows an even number of backslashes. After an odd number, the same characters are plain text.
  `CREATE OR REPLACE FUNCTION readable_json(doc text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT (CASE WHEN doc ~ '\\\\u(0000|001a|d[89a-f])' THEN
       regexp_replace(regexp_replace(regexp_replace(doc, '${formatEscapePattern('001a')}', '\\1\\\\u001a1', 'g'),
       '${formatEscapePattern('0000')}', '\\1\\\\u001a0', 'g'), '${formatEscapePattern('d[89a-f][0-9a-f]{2}')}', '\\1\\\\ufffd', 'g') ELSE doc END)::json $$`,
  `CREATE OR REPLACE FUNCTION json_list(doc text, OUT value text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS
     $$ SELECT pg_catalog.json_array_elements_text(readable_json(doc)) $$`,
  `CREATE OR REPLACE FUNCTION json_extract(doc text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT readable_json(doc) #>> string_to_array(substr(path, 3), '.') $$`,
  // Rebuilds the object member by member, so that the other members keep their spelling.
  `CREATE OR REPLACE FUNCTION json_without(doc json, path text[]) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
   BEGIN
     IF json_typeof(doc) IS DISTINCT FROM 'object' THEN RETURN doc; END IF;
     RETURN (SELECT '{' || coalesce(string_agg(to_json(m.key) || ':' || CASE WHEN m.key <> path[1] THEN m.value
         ELSE json_without(m.value, path[2:]) END, ',' ORDER BY m.place), '') || '}'
       FROM json_each(doc) WITH ORDINALITY AS m (key, value, place) WHERE m.key <> path[1] OR cardinality(path) > 1);
   END $$`,
  // Replaces escapes that `json_each` cannot read while it removes the members, and restores them afterwards.
  `CREATE OR REPLACE FUNCTION json_remove(doc text, VARIADIC paths text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
   DECLARE path text;
   BEGIN
     doc := regexp_replace(regexp_replace(regexp_replace(doc, '${formatEscapePattern('001a')}', '\\1\\\\u001a1', 'g'),
       '${formatEscapePattern('0000')}', '\\1\\\\u001a0', 'g'), '${formatEscapePattern('(d[89a-f][0-9a-f]{2})')}', '\\1\\\\u001a2\\2', 'g');
     FOREACH path IN ARRAY paths LOOP
       doc := json_without(doc::json, string_to_array(substr(path, 3), '.'))::text;
     END LOOP;
     RETURN regexp_replace(regexp_replace(regexp_replace(doc, '${formatEscapePattern('001a2(d[89a-f][0-9a-f]{2})')}', '\\1\\\\u\\2', 'g'),
       '${formatEscapePattern('001a0')}', '\\1\\\\u0000', 'g'), '${formatEscapePattern('001a1')}', '\\1\\\\u001a', 'g');
   END $$`,
  // Appends an item to a list. The store inserts nowhere else.
  `CREATE OR REPLACE FUNCTION json_insert(doc text, path text, item text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $$ SELECT CASE WHEN path <> '$[#]' THEN NULL WHEN json_array_length(doc::json) = 0 THEN '[' || to_json(item) || ']'
       ELSE pg_catalog.left(rtrim(doc), -1) || ',' || to_json(item) || ']' END $$`,
]
